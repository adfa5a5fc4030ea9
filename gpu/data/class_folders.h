#pragma once
// Pictures that lie in a folder for each class, as torchvision's ImageFolder reads them: what is where.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/data/halves.h"
#include "gpu/data/picture.h"

namespace warpscope::data {

/// A picture and the class that its folder gives it.
struct ClassPicture {
  std::filesystem::path path;
  std::uint8_t label = 0;
};

/// What a folder of class folders holds. Pictures are those of the first class first, each class's by path.
struct ClassFolders {
  Halves folders;  ///< of class folders, by Half; empty: there is none
  std::filesystem::path
      bare_folder;  ///< without a test folder, one of that name without class folders; or empty
  std::vector<std::string> classes;  ///< the names of the folders to train on, sorted by their bytes
  std::array<std::vector<ClassPicture>, 3> pictures;  ///< by Half
  OtherFiles others;                                  ///< in the folders of the classes
  std::size_t beside = 0;           ///< pictures that lie beside class folders, and so in no class
  std::vector<std::string> unused;  ///< names of folders beside those of the halves

  const std::filesystem::path& folder_of(Half half) const { return of(folders, half); }
  std::vector<ClassPicture>& pictures_of(Half half) { return pictures[static_cast<std::size_t>(half)]; }
  const std::vector<ClassPicture>& pictures_of(Half half) const {
    return pictures[static_cast<std::size_t>(half)];
  }
};

/// True if pictures lie in folders within `folder`, or within its folder to train on. Throws BadInput if `folder`
/// cannot be read.
bool holds_class_folders(const std::filesystem::path& folder);

/// The classes are the folders in `folder`; or, where a folder there that is called as training data are (half_of())
/// has folders with pictures in it, those in that one; test and validation pictures are then those in folders so
/// called. Pictures (is_picture()) may lie deeper in the folder of their class; links are followed, names that begin
/// with a point are not looked at.
///
/// Throws BadInput if a folder cannot be read, if there are not 2 to 256 classes, if one has no pictures to train on,
/// if a class is in another folder alone, if two folders are the same half, if there is a half to test with and none to
/// train on, or if what should be classes are called as halves are.
ClassFolders find_class_folders(const std::filesystem::path& folder);

}  // namespace warpscope::data
