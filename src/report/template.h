// SPDX-License-Identifier: Apache-2.0
// Expands the templates of a pattern's description into sentences: the one place where the values
// of a finding become text. Inner header of src/report.
//
//   {field}                                   the value in its usual form
//   {field:format}                            in another form
//   {part/whole}                              two counts as a percentage
//   {part/whole:times}                        two counts as a factor: "8.0"
//   {if field}...{elif not field}...{else}...{end}    a choice; parts may be nested
//
// Fields are those of the description, by name, and these, which all findings have:
//
//   object, other_object          "`a` (4.0 KiB)"; :name "`a`"; :size "4.0 KiB"
//   call, other_call, last_call   "cudaMemcpy (2mm.cu:210)"; :at "cudaMemcpy at 2mm.cu:210";
//                                 :name "cudaMemcpy"; :where " (2mm.cu:210)"
//   kernel                        its short name
//   distance, between             "5 GPU API calls": from one call to the other, and between them
//   times, count                  "2,160,640"
//   alone, repeated               only to be tested: count is 1; times is more than 1
//   timed, no_gain                only to be tested: times are real; then, the run gains nothing
//   brief                         only to be tested: the text is for one line of the first screen,
//                                 which has 72 columns; what does not fit is cut off
//
// The description's own fields have the form of their type. A count has the formats :unit
// ("5 calls") and :bytes; a real :whole ("157%" for "157.4%"); a value :added (" - 2"). A path is a
// place in the source; so is a line. A field is true in {if} where it is known and not 0; a real
// and a value are where they are known, and a path or a line where its place is.
#ifndef GLINT_REPORT_TEMPLATE_H
#define GLINT_REPORT_TEMPLATE_H

#include "data.h"

// Adds the template's text for the finding.
void report_expand(const struct report_data *data, const struct analyze_finding *finding,
                   const char *template, struct base_buf *out);
// Adds what is wrong and what to do, for a line each: the second one calls the object "it" if the
// first one names it.
void report_expand_brief(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *message, struct base_buf *suggestion);

#endif
