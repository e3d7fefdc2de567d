# SPDX-License-Identifier: Apache-2.0
# Compares src/cudaabi with NVIDIA's headers if a CUDA toolkit is installed.

glint_test(cudaabi.compare ${CMAKE_CURRENT_SOURCE_DIR}/cudaabi/compare.sh)
