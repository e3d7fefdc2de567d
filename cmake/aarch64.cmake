# SPDX-License-Identifier: Apache-2.0
# Toolchain for aarch64: the host's compiler if the host is aarch64, else Debian's cross compiler,
# with qemu-user to run the tests. `scripts/bootstrap --cross aarch64` installs both.

if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(CMAKE_SYSTEM_NAME Linux)
    set(CMAKE_SYSTEM_PROCESSOR aarch64)
    set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
    set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu) # where -dev packages of aarch64 put their libraries
endif()
