// SPDX-License-Identifier: Apache-2.0
// A library to load and unload, compiled twice: PLUGIN_BYTES gives each its own frame.
long plugin_call(void (*callback)(void *), void *user);

__attribute__((visibility("default"))) long plugin_call(void (*callback)(void *), void *user)
{
    volatile char bytes[PLUGIN_BYTES];
    bytes[0] = 1;
    callback(user);
    return bytes[0];
}
