// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of moments: the readings, the sums, and the host's own computation.
//
// A row of the matrix is a sample, and a column has the readings of one sensor. Of each sensor, the
// sum of its readings and that of their squares are wanted, from which mean and variance follow.
#pragma once

#include "../values.h"

static const int chunk = 1024; // Samples that a block adds up.

struct sums {
    unsigned long long values, squares;
};

static std::vector<int> make_readings(const values_problem &problem)
{
    std::vector<int> readings((size_t)problem.rows * problem.columns);
    uint32_t seed = 29;
    for (int &reading : readings)
        reading = (int)example_random(&seed, 4096);
    return readings;
}

static std::vector<unsigned long long> expected_sums(const values_problem &problem,
                                                     const std::vector<int> &readings)
{
    std::vector<unsigned long long> all((size_t)problem.columns * 2);
    for (size_t i = 0; i < readings.size(); ++i) {
        const unsigned long long reading = readings[i];
        const size_t sensor = i % problem.columns;
        all[2 * sensor] += reading;
        all[2 * sensor + 1] += reading * reading;
    }
    return all;
}
