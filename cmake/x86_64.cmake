# SPDX-License-Identifier: Apache-2.0
# Toolchain for x86_64: the host's compiler if the host is x86_64, else Debian's cross compiler,
# with qemu-user to run the tests. `scripts/bootstrap --cross x86_64` installs both.

if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(CMAKE_SYSTEM_NAME Linux)
    set(CMAKE_SYSTEM_PROCESSOR x86_64)
    set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64)
    set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu) # where -dev packages of x86_64 put their libraries
endif()
