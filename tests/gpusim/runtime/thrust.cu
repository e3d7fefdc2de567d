// SPDX-License-Identifier: Apache-2.0
// Runs Thrust on the simulated GPU: a reduction, a radix sort and a decoupled look-back scan. Prints "ok"
// and exits with 0 if the results equal the host's.
#include <cstdio>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

int main()
{
    const int n = 5000;
    thrust::host_vector<int> host(n);
    unsigned state = 1;
    long long expected = 0;
    for (int i = 0; i < n; i++) {
        host[i] = (int)((state = state * 1664525u + 1013904223u) >> 8) % 1000;
        expected += host[i];
    }
    thrust::device_vector<int> device = host;
    bool right = thrust::reduce(device.begin(), device.end(), 0ll) == expected;
    thrust::sort(device.begin(), device.end());
    thrust::host_vector<int> sorted = device;
    for (int i = 1; i < n; i++)
        right = right && sorted[i - 1] <= sorted[i];
    thrust::inclusive_scan(device.begin(), device.end(), device.begin());
    right = right && (int)device[n - 1] == expected;
    printf("%s\n", right ? "ok" : "wrong");
    return right ? 0 : 1;
}
