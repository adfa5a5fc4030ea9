#include "ui/text/numbers.h"

#include <cmath>

#include <gtest/gtest.h>

namespace warpscope::ui::numbers_test {
namespace {

TEST(Numbers, ThousandsAreSeparated) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(std::int64_t{-1234567}), "-1,234,567");
  EXPECT_EQ(with_thousands(751875), "751,875");
  EXPECT_EQ(with_thousands(1234.5, 2), "1,234.50");
  EXPECT_EQ(with_thousands(0.25, 4), "0.2500");
  EXPECT_EQ(with_thousands(std::nan(""), 1), "nan");
  EXPECT_EQ(with_thousands(-INFINITY, 1), "-inf");
}

TEST(Numbers, SiPrefixes) {
  EXPECT_EQ(si_number(412000), "412 k");
  EXPECT_EQ(si_number(0.0021), "2.10 m");
  EXPECT_EQ(si_number(1), "1.00 ");
  EXPECT_EQ(si_number(999.6), "1.00 k");
  EXPECT_EQ(si_number(1e9), "1.00 G");
  EXPECT_EQ(si_number(0), "0 ");
  EXPECT_EQ(si_number(-1500), "-1.50 k");
  EXPECT_EQ(si_number(6.7e13), "67.0 T");
}

TEST(Numbers, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(64), "64 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(812.0 * 1024 * 1024), "812 MiB");
  EXPECT_EQ(bytes_text(79.0 * 1024 * 1024 * 1024), "79.0 GiB");
}

TEST(Numbers, Clock) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(2.516), "0:03") << "to the nearest second";
  EXPECT_EQ(clock_text(12.4), "0:12");
  EXPECT_EQ(clock_text(59.7), "1:00");
  EXPECT_EQ(clock_text(3599.6), "1:00:00");
  EXPECT_EQ(clock_text(727), "12:07");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(NAN), "-");
}

TEST(Numbers, Compact) {
  EXPECT_EQ(compact_number(0.04213), "0.04213");
  EXPECT_EQ(compact_number(0), "0.00000");
  EXPECT_EQ(compact_number(12.5), "12.500");
  EXPECT_EQ(compact_number(1.25e-7), "1.25e-07");
  EXPECT_EQ(compact_number(2.5e7), "2.50e+07");
}

}  // namespace
}  // namespace warpscope::ui::numbers_test
