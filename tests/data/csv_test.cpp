#include "gpu/data/csv.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::csv_test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text) {
  Rows rows;
  CsvReader reader(text, "t.csv");
  while (const auto row = reader.next()) rows.push_back(row->fields);
  return rows;
}

std::string refusal(std::string_view text) {
  return tests::message_of<core::BadInput>([&] { rows_of(text); });
}

TEST(Csv, ReadsPlainAndQuotedFields) {
  EXPECT_EQ(rows_of("a,b\nc,d\n"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(rows_of("a,b\r\nc,d"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(rows_of("\"a,b\",\"say \"\"hi\"\"\"\n"), (Rows{{"a,b", "say \"hi\""}}));
  EXPECT_EQ(rows_of("\"two\r\nlines\",x\n"), (Rows{{"two\r\nlines", "x"}}));
  EXPECT_EQ(rows_of("\"\",\n"), (Rows{{"", ""}}));
  EXPECT_EQ(rows_of(",\n"), (Rows{{"", ""}}));
  EXPECT_EQ(rows_of(" a , b"), (Rows{{" a ", " b"}}));
  EXPECT_EQ(rows_of("a\rb\n"), (Rows{{"a\rb"}})) << "a lone CR ends no line";
  EXPECT_EQ(rows_of("\"back\\slash\\n\",b"), (Rows{{"back\\slash\\n", "b"}}));
}

TEST(Csv, PassesOverEmptyLines) {
  EXPECT_EQ(rows_of(""), Rows{});
  EXPECT_EQ(rows_of("\n\r\n"), Rows{});
  EXPECT_EQ(rows_of("a\n\n\r\nb\n\n"), (Rows{{"a"}, {"b"}}));
}

TEST(Csv, CountsLinesWithinFieldsToo) {
  CsvReader reader("a\n\"x\ny\"\nb\n", "t.csv");
  EXPECT_EQ(reader.next()->line, 1U);
  EXPECT_EQ(reader.next()->line, 2U);
  EXPECT_EQ(reader.next()->line, 4U);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Csv, RefusesBrokenRowsByFileAndLine) {
  EXPECT_EQ(refusal("a\n\"open\nb\nc"), "t.csv:2: a quote is not closed");
  EXPECT_EQ(refusal("\"\"\""), "t.csv:1: a quote is not closed");
  EXPECT_EQ(refusal("a\nb\n\"x\"y,z"),
            "t.csv:3: something stands between a closing quote and the next comma");
  EXPECT_EQ(refusal("a,b\"c\n"),
            "t.csv:1: a quote stands in a field that does not begin with one; double it, in quotes");
}

}  // namespace
}  // namespace warpscope::data::csv_test
