#include "gpu/files/checksum.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::files::checksum_test {
namespace {

TEST(Checksum, IsXxh3) {
  // For nothing: the value that xxHash's specification gives for its seed 0.
  EXPECT_EQ(Checksum().text(), "xxh3:99aa06d3014798d86001c324468d497f");
}

TEST(Checksum, DoesNotDependOnWhereAPieceEnds) {
  const std::string bytes(3'000'000, 'x');
  Checksum whole, pieces;
  whole.add(bytes.data(), bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 777) {
    pieces.add(bytes.data() + at, std::min<std::size_t>(777, bytes.size() - at));
  }
  EXPECT_EQ(pieces.text(), whole.text());
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "file", bytes);
  EXPECT_EQ(checksum_of_file(folder / "file"), whole.text());
  EXPECT_THROW(checksum_of_file(folder / "none"), core::BadInput);
}

}  // namespace
}  // namespace warpscope::files::checksum_test
