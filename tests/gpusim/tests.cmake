# SPDX-License-Identifier: Apache-2.0
# What the tests of src/gpusim need beyond their test_*.c.

include(gpusim/redirect/tests.cmake)
include(gpusim/runtime/tests.cmake)
