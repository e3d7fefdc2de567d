# SPDX-License-Identifier: Apache-2.0
# src/cudaabi beside the vendor's headers, where there is a toolkit.

glint_test(cudaabi.compare ${CMAKE_CURRENT_SOURCE_DIR}/cudaabi/compare.sh)
