#include "ui/paint/texture_book.h"

#include <memory>

#include <gtest/gtest.h>

namespace warpscope::ui::paint {
namespace {

TEST(TextureBook, KeepsTexelsAndTellsThatTheyChanged) {
  TextureBook book;
  const std::uint32_t texels[6] = {1, 2, 3, 4, 5, 6};
  book.put(9, 3, 2, true, texels);
  const TextureBook::Page& page = book.pages().at(9);
  EXPECT_EQ(page.texels, std::vector<std::uint32_t>(texels, texels + 6));
  EXPECT_TRUE(page.linear);
  const std::uint64_t before = page.version;
  const std::uint32_t part[2] = {20, 50};
  book.put_part(9, 1, 0, 1, 2, part);
  EXPECT_EQ(page.texels, (std::vector<std::uint32_t>{1, 20, 3, 4, 50, 6}));
  EXPECT_GT(page.version, before);
  book.put_part(8, 0, 0, 1, 1, part);
  EXPECT_FALSE(book.pages().contains(8)) << "a part of nothing";
  book.put(9, 1, 1, false, nullptr);
  EXPECT_EQ(page.texels, std::vector<std::uint32_t>{0});
  book.remove(9);
  EXPECT_TRUE(book.pages().empty());
}

TEST(TextureBook, IsCurrentUntilItGoes) {
  EXPECT_EQ(TextureBook::current(), nullptr);
  auto book = std::make_unique<TextureBook>();
  EXPECT_EQ(TextureBook::current(), nullptr);
  book->make_current();
  EXPECT_EQ(TextureBook::current(), book.get());
  book->retire();
  EXPECT_EQ(TextureBook::current(), nullptr);
  book->make_current();
  book.reset();
  EXPECT_EQ(TextureBook::current(), nullptr);
}

}  // namespace
}  // namespace warpscope::ui::paint
