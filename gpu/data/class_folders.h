#pragma once
// Pictures that lie in a folder for each class, as torchvision's ImageFolder reads them: what is where.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace warpscope::data {

/// A picture and the class that its folder gives it.
struct ClassPicture {
  std::filesystem::path path;
  std::uint8_t label = 0;
};

/// What a folder of class folders holds. Pictures are those of the first class first, each class's by path.
struct ClassFolders {
  std::filesystem::path train_folder;
  std::filesystem::path test_folder;  ///< empty: there is none
  std::filesystem::path bare_folder;  ///< where there is none, one without pictures; or empty
  std::vector<std::string> classes;   ///< the names of the folders in `train_folder`, sorted by their bytes
  std::vector<ClassPicture> train;
  std::vector<ClassPicture> test;
};

/// True if pictures lie in folders within `folder`, or within its folder `train`. Throws BadInput if `folder` cannot
/// be read.
bool holds_class_folders(const std::filesystem::path& folder);

/// The classes are the folders in `folder`; or, where its folder `train` has folders with pictures in it, those in
/// `train`, and test pictures are those in the first of `test`, `val` and `valid` that has such folders too. Pictures
/// end in .png, .jpg or .jpeg (own_images.h) and may lie deeper in the folder of their class; links are followed,
/// names that begin with a point are not looked at.
///
/// Throws BadInput if a folder cannot be read, if there are not 2 to 256 classes, if one has no pictures to train
/// on, if a class is in the test folder alone, or if a test folder has pictures and `train` none.
ClassFolders find_class_folders(const std::filesystem::path& folder);

}  // namespace warpscope::data
