// SPDX-License-Identifier: Apache-2.0
// The three forms of CPython's tables of lines. All state lines as differences from the first line
// of the code, in the order of the instructions.
//
// 3.9: pairs of an unsigned step of the instruction and a signed step of the line; a line holds
// from the instruction that the sum of steps reaches. 3.10: pairs of the length of a range of
// instructions and the signed step of its line; a step of -128 means that the range has no line.
// 3.11 and later: entries of variable length, each for one to eight units of two bytes.
#include "python.h"

#include <string.h>

static uint32_t checked(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t by_steps(const struct record_python_code *code, uint32_t offset)
{
    int64_t line = code->first_line;
    uint64_t address = 0;
    for (uint32_t i = 0; i + 1 < code->lines_bytes; i += 2) {
        address += code->lines[i];
        if (address > offset)
            break;
        line += (int8_t)code->lines[i + 1];
    }
    return checked(line);
}

static uint32_t by_ranges(const struct record_python_code *code, uint32_t offset)
{
    enum { NO_LINE = -128 };
    int64_t line = code->first_line;
    uint64_t end = 0;
    for (uint32_t i = 0; i + 1 < code->lines_bytes; i += 2) {
        const int8_t step = (int8_t)code->lines[i + 1];
        end += code->lines[i];
        line += step == NO_LINE ? 0 : step;
        if (offset < end)
            return step == NO_LINE ? 0 : checked(line);
    }
    return 0;
}

// --- Locations -----------------------------------------------------------------------------------

struct reader {
    const unsigned char *at, *end;
    bool failed;
};

static uint32_t take_byte(struct reader *reader)
{
    // The first byte of an entry has its highest bit set, and no other has.
    if (reader->at == reader->end || *reader->at & 0x80) {
        reader->failed = true;
        return 0;
    }
    return *reader->at++;
}

// Six bits a byte, the lowest first; the bit above them says that more follow.
static uint32_t take_number(struct reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
        const uint32_t byte = take_byte(reader);
        number |= (uint64_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40))
            return (uint32_t)number;
    }
    reader->failed = true;
    return 0;
}

// The lowest bit is the sign.
static int64_t take_signed(struct reader *reader)
{
    const uint32_t number = take_number(reader);
    return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

enum kind { SHORT_LAST = 9, ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };

// Reads what follows the first byte of an entry. Columns are 0 if the entry has none.
static struct record_python_place take_location(struct reader *reader, unsigned kind, int64_t *line)
{
    struct record_python_place place = {0};
    if (kind <= SHORT_LAST) {
        const uint32_t byte = take_byte(reader);
        place.column = kind * 8 + (byte >> 4) + 1;
        place.end_column = place.column + (byte & 15);
        place.end_line = checked(*line);
    } else if (kind <= ONE_LINE_LAST) {
        *line += kind - ONE_LINE_FIRST;
        place.column = take_byte(reader) + 1;
        place.end_column = take_byte(reader) + 1;
        place.end_line = checked(*line);
    } else if (kind == NO_COLUMNS) {
        *line += take_signed(reader);
    } else if (kind == LONG) {
        *line += take_signed(reader);
        place.end_line = checked(*line + take_number(reader));
        place.column = take_number(reader); // these are from 1, and 0 is none
        place.end_column = take_number(reader);
    } else {
        return place;
    }
    place.line = checked(*line);
    return place;
}

static struct record_python_place by_locations(const struct record_python_code *code,
                                               uint32_t offset)
{
    const struct record_python_place none = {0};
    struct reader reader = {code->lines, code->lines + code->lines_bytes, false};
    const uint32_t unit = offset / 2;
    int64_t line = code->first_line;
    for (uint64_t end = 0; reader.at < reader.end;) {
        const uint32_t first = *reader.at++;
        if (!(first & 0x80))
            return none;
        const struct record_python_place place = take_location(&reader, first >> 3 & 15, &line);
        if (reader.failed)
            return none;
        end += (first & 7) + 1;
        if (unit < end)
            return place;
    }
    return none;
}

struct record_python_place record_python_find(const struct record_python_code *code,
                                              uint32_t offset)
{
    struct record_python_place place = {0};
    if (offset == EVENT_PYTHON_START)
        place.line = checked(code->first_line);
    else if (code->format == EVENT_LINES_LNOTAB)
        place.line = by_steps(code, offset);
    else if (code->format == EVENT_LINES_RANGES)
        place.line = by_ranges(code, offset);
    else if (code->format == EVENT_LINES_LOCATIONS)
        place = by_locations(code, offset);
    return place;
}

// --- Merging -------------------------------------------------------------------------------------

bool record_python_runs(const char *function)
{
    static const char name[] = "_PyEval_EvalFrameDefault";
    return function && strncmp(function, name, strlen(name)) == 0 &&
           (!function[strlen(name)] || function[strlen(name)] == '.');
}

static size_t count(const bool *items, size_t item_count)
{
    size_t found = 0;
    for (size_t i = 0; i < item_count; i++)
        found += items[i];
    return found;
}

void record_python_merge(const bool *native, size_t native_count, const bool *entry,
                         size_t python_count, bool truncated, size_t *before)
{
    const size_t functions = count(native, native_count), entries = count(entry, python_count);
    // If some frames are missing at the outer end, those at the inner end still match.
    const bool match = functions <= entries || truncated;
    size_t done = 0;
    if (!functions)
        done = python_count;
    for (size_t i = 0; i < native_count; i++) {
        if (native[i] && !match)
            done = python_count;
        else if (native[i])
            while (done < python_count && !entry[done++])
                ;
        before[i] = done;
    }
    before[native_count] = python_count;
}
