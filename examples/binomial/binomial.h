// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of binomial: what options are worth at the end, and the host's own
// computation.
//
// The price of an option follows from a tree of the prices that its share may have. In every step
// of time the price goes up or down. At the end the option's value is known for each of them; a
// step before, it is a mean of the two values that may follow, and so on to the root. A row is an
// option, and `columns` the number of steps.
#pragma once

#include "../values.h"

#include <math.h>
#include <utility>

static const int most_steps = 512;

// How much the values after the price went up and down count, without interest.
struct odds {
    float up, down;
};

__host__ __device__ static inline float value_before(odds odds, float down, float up)
{
    return fmaf(odds.up, up, odds.down * down);
}

struct options {
    std::vector<float> leaves; // the values at the end, columns + 1 of each option
    std::vector<odds> odds;
};

static options make_options(const values_problem &problem)
{
    if (problem.columns > most_steps) {
        fprintf(stderr, "binomial: at most %d columns\n", most_steps);
        exit(1);
    }
    options options;
    uint32_t seed = 83;
    for (int i = 0; i < problem.rows; ++i) {
        const float share = 10.0f + (float)example_random(&seed, 1000) * 0.05f;
        const float strike = 10.0f + (float)example_random(&seed, 1000) * 0.05f;
        const float up = 0.45f + (float)example_random(&seed, 100) * 0.001f;
        options.odds.push_back({up * 0.9999f, (1.0f - up) * 0.9999f});
        for (int leaf = 0; leaf <= problem.columns; ++leaf) {
            const float rise = (float)(2 * leaf - problem.columns) / (float)problem.columns;
            options.leaves.push_back(fmaxf(0.0f, fmaf(share, rise, share - strike)));
        }
    }
    return options;
}

static std::vector<float> expected_prices(const values_problem &problem, const options &options)
{
    std::vector<float> values = options.leaves, prices;
    for (int option = 0; option < problem.rows; ++option) {
        float *row = &values[(size_t)option * (problem.columns + 1)];
        for (int left = problem.columns; left > 0; --left) {
            for (int i = 0; i < left; ++i)
                row[i] = value_before(options.odds[option], row[i], row[i + 1]);
        }
        prices.push_back(row[0]);
    }
    return prices;
}
