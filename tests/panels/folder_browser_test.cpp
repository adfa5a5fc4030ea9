#include "ui/panels/start/folder_browser.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"

namespace warpscope::ui::folder_browser_test {
namespace {

using Names = std::vector<std::string>;

TEST(FolderBrowser, ListsFoldersAndFilesOfTheEndsThatAreLookedForByName) {
  const tests::TemporaryFolder folder;
  for (const char* name : {"b", "a", ".hidden"}) std::filesystem::create_directories(folder.path() / name);
  for (const char* name : {"net.toml", "notes.txt", "w.safetensors"})
    tests::write_text(folder.path() / name, "");
  const std::vector<std::string_view> ends{".toml", ".safetensors"};
  const FolderListing listing = list_folder(folder.path(), ends, 9);
  EXPECT_EQ(listing.folders, (Names{"a", "b"}));
  EXPECT_EQ(listing.files, (Names{"net.toml", "w.safetensors"}));
  EXPECT_EQ(list_folder(folder.path(), ends, 1).folders, Names{"a"});
  EXPECT_THROW(list_folder(folder.path() / "gone", ends, 9), std::filesystem::filesystem_error);
}

}  // namespace
}  // namespace warpscope::ui::folder_browser_test
