#include "ui/paint/texture_store.h"

#include <gtest/gtest.h>

namespace warpscope::ui::paint::texture_store_test {
namespace {

TEST(TextureStore, KeepsTexelsAndTellsThatTheyChanged) {
  TextureStore store;
  const std::uint32_t texels[6] = {1, 2, 3, 4, 5, 6};
  store.put(9, 3, 2, true, texels);
  const TextureStore::Entry& entry = store.entries().at(9);
  EXPECT_EQ(entry.texels, std::vector<std::uint32_t>(texels, texels + 6));
  EXPECT_TRUE(entry.linear);
  const std::uint64_t before = entry.version;
  const std::uint32_t part[2] = {20, 50};
  store.put_part(9, 1, 0, 1, 2, part);
  EXPECT_EQ(entry.texels, (std::vector<std::uint32_t>{1, 20, 3, 4, 50, 6}));
  EXPECT_GT(entry.version, before);
  store.put_part(8, 0, 0, 1, 1, part);
  EXPECT_FALSE(store.entries().contains(8)) << "a part of nothing";
  store.put(9, 1, 1, false, nullptr);
  EXPECT_EQ(entry.texels, std::vector<std::uint32_t>{0});
  store.remove(9);
  EXPECT_TRUE(store.entries().empty());
}

TEST(TextureStore, ATextureThatTakesTheNameOfOneThatWentHasAnotherVersion) {
  TextureStore store;
  store.put(9, 1, 1, false, nullptr);
  const std::uint64_t before = store.entries().at(9).version;
  store.remove(9);
  store.put(9, 1, 1, false, nullptr);
  EXPECT_GT(store.entries().at(9).version, before);
}

TEST(TextureStore, HoldsNothingOnceItIsClosed) {
  TextureStore store;
  store.put(9, 1, 1, false, nullptr);
  EXPECT_FALSE(store.closed());
  store.close();
  EXPECT_TRUE(store.closed());
  EXPECT_TRUE(store.entries().empty());
}

}  // namespace
}  // namespace warpscope::ui::paint::texture_store_test
