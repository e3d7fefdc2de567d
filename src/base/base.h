// SPDX-License-Identifier: Apache-2.0
// The public header of src/base: containers, text, errors and file formats that every part of glint
// needs and C lacks. Each inner header is the contract of one of them. Other parts include only
// this file.
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
#include "scratch.h"
#include "search.h"
#include "siphash.h"
#include "str.h"
#include "toml.h"
#include "utf8.h"
#include "vendor.h"

#endif
