// SPDX-License-Identifier: Apache-2.0
// A library to load and unload, compiled three times: PLUGIN_BYTES gives two their own frame, and
// PLUGIN_VALUE is all that tells the third from the first.
long plugin_call(void (*callback)(void *), void *user);

__attribute__((visibility("default"))) long plugin_call(void (*callback)(void *), void *user)
{
    volatile char bytes[PLUGIN_BYTES];
    bytes[0] = PLUGIN_VALUE;
    callback(user);
    return bytes[0];
}
