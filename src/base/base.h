// SPDX-License-Identifier: Apache-2.0
// The public face of src/base: what C lacks and every part of glint needs. Each inner header holds
// the contract of one facility; other parts include this file only.
#ifndef GLINT_BASE_BASE_H
#define GLINT_BASE_BASE_H

#include "arena.h"
#include "array.h"
#include "error.h"
#include "file.h"
#include "intervals.h"
#include "json.h"
#include "log.h"
#include "map.h"
#include "protobuf.h"
#include "search.h"
#include "str.h"
#include "toml.h"
#include "utf8.h"

#endif
