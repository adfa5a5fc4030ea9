// How sums of rows by symbol are cut into blocks, whatever the GPU.

#include "gpu/ops/row_sums.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/ops/planned_processors.h"

namespace warpscope::ops::row_sums_test {
namespace {

constexpr std::size_t kLeastSharedMemory = 64 << 10;  // of a block, on compute capability 7.5

using row_sums::Cut;
using row_sums::cut_of;
using row_sums::Sums;

/// Calls visit(sums, cut) with texts of all sorts and both widths.
template <class Visit>
void visit_cuts(const Visit& visit) {
  for (const std::int64_t positions : {1, 127, 4'096, 67'700, 519'168}) {
    for (const int channels : {1, 3, 4, 16, 33, 36, 129, 192, 260, 512}) {
      for (const int rows : {1, 2, 9, 43, 65, 71, 128, 216, 256}) {
        for (const int taps : {1, 7, 225}) {
          for (const int width : {1, row_sums::kVector}) {
            if (channels % width != 0) continue;
            const Sums sums{positions, channels, rows, taps};
            SCOPED_TRACE(fmt::format("{} positions, {} channels, {} rows, {} taps, {} wide", positions,
                                     channels, rows, taps, width));
            visit(sums, cut_of(sums, width));
          }
        }
      }
    }
  }
}

TEST(RowSums, TakeEveryChannelAndEveryPosition) {
  visit_cuts([](const Sums& sums, const Cut& cut) {
    EXPECT_GE(std::int64_t{cut.groups} * cut.vectors * cut.width, sums.channels);
    EXPECT_LT(std::int64_t{cut.groups - 1} * cut.vectors * cut.width, sums.channels);
    EXPECT_GE(cut.walkers, 1);
    EXPECT_GE(cut.spans * cut.span, sums.positions);
  });
}

TEST(RowSums, FitIntoABlockOfAnyGpu) {
  visit_cuts([](const Sums& sums, const Cut& cut) {
    EXPECT_LE(cut.threads(), cut.columns);
    EXPECT_LE(cut.threads(), row_sums::kMostThreads);
    EXPECT_LE(2 * cut.walkers * row_sums::kMostDepth, row_sums::kSymbolBytes);
    const int table = sums.rows * cut.columns * cut.width * static_cast<int>(sizeof(float));
    EXPECT_LE(table, row_sums::kMostTableBytes);
    EXPECT_EQ(cut.shared, static_cast<std::size_t>(row_sums::kSymbolBytes + table));
    EXPECT_LE(cut.shared, kLeastSharedMemory);
    EXPECT_EQ(cut.columns * cut.width % 32, 0) << "rows of the table begin at the same bank";
  });
}

TEST(RowSums, HaveRoomForThePartialSumsOfEitherWidth) {
  visit_cuts([](const Sums& sums, const Cut& cut) {
    EXPECT_GE(row_sums::partial_elements(sums), cut.spans * sums.taps * sums.rows * sums.channels);
  });
}

TEST(RowSums, FillTheGpuOnce) {
  for (const int channels : {192, 256, 384, 512}) {
    const Sums sums{65'536, channels, 65, 1};
    const Cut cut = cut_of(sums, row_sums::kVector);
    const std::int64_t blocks = cut.groups * cut.spans;
    EXPECT_LE(blocks, 4 * kPlannedProcessors) << channels;
    EXPECT_GT(blocks, 4 * kPlannedProcessors - cut.groups) << channels;
  }
}

TEST(RowSums, WriteATenthOfWhatTheyReadOfABatchOfTexts) {
  const Sums sums{65'536, 384, 65, 1};
  const std::int64_t read = sums.positions * sums.channels * 2;
  EXPECT_LE(10 * row_sums::partial_elements(sums) * 4, read);
}

TEST(RowSums, ShareTheLastSumWhereThereAreManySpans) {
  EXPECT_EQ(row_sums::sharers_of(1), 1);
  EXPECT_EQ(row_sums::sharers_of(15), 1);
  EXPECT_EQ(row_sums::sharers_of(16), 2);
  EXPECT_EQ(row_sums::sharers_of(44), 4);
  EXPECT_EQ(row_sums::sharers_of(528), 8);
}

}  // namespace
}  // namespace warpscope::ops::row_sums_test
