// SPDX-License-Identifier: Apache-2.0
// Finds the word that a mistyped word was probably meant to be.
#include "str.h"

enum { LONGEST = 48 }; // length of a word that is considered

// The number of letters to change, add, omit or swap with the next one.
static unsigned distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    unsigned rows[3][LONGEST + 1];
    for (unsigned i = 0; i <= other_length; i++)
        rows[0][i] = i;
    for (size_t i = 1; i <= one_length; i++) {
        unsigned *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= other_length; j++) {
            unsigned best = before[j - 1] + (one[i - 1] != other[j - 1]);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] &&
                earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[one_length % 3][other_length];
}

static bool is_hyphen(char letter)
{
    return letter == '-' || letter == '_';
}

// Returns whether the text begins with the word, if hyphens of both are left out.
static bool begins(const char *text, const char *word)
{
    for (;;) {
        while (is_hyphen(*word))
            word++;
        while (is_hyphen(*text))
            text++;
        if (!*word || *word != *text)
            return !*word;
        word++;
        text++;
    }
}

// Returns the first candidate that begins with the word, else the first one of which a later part
// does, as "memory-leak" for "leak"; NULL if the word is too short to say much.
static const char *begun_by(const char *word, const char *const *candidates, size_t count)
{
    const bool says_much = strlen(word) >= 3;
    for (size_t i = 0; i < count && says_much; i++) {
        if (begins(candidates[i], word))
            return candidates[i];
    }
    for (size_t i = 0; i < count && says_much; i++) {
        for (const char *part = candidates[i]; *part; part++) {
            if (is_hyphen(*part) && begins(part, word))
                return candidates[i];
        }
    }
    return NULL;
}

const char *base_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    const size_t length = strlen(word);
    unsigned least = (unsigned)(length < 3 ? 1 : length / 3); // more letters make it another word
    for (size_t i = 0; i < count && length <= LONGEST; i++) {
        const size_t other = strlen(candidates[i]);
        if (other > LONGEST)
            continue;
        const unsigned apart = distance(word, length, candidates[i], other);
        if (apart < least || (apart == least && !nearest)) {
            least = apart;
            nearest = candidates[i];
        }
    }
    return nearest ? nearest : begun_by(word, candidates, count);
}
