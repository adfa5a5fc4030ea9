#include "ui/paint/draw_list.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <imgui.h>

namespace warpscope::ui::paint::draw_list_test {
namespace {

/// Draw lists made by hand: corner i of a list lies at (10 + i, 20 + i) of a display that begins at (10, 20).
class TrianglesTest : public testing::Test {
 protected:
  void SetUp() override { ImGui::CreateContext(); }
  void TearDown() override { ImGui::DestroyContext(); }

  static void fill(ImDrawList& list, int corners) {
    for (int i = 0; i < corners; ++i) {
      const auto at = static_cast<float>(i);
      list.VtxBuffer.push_back({ImVec2(10 + at, 20 + at), ImVec2(at, -at), static_cast<ImU32>(i)});
    }
  }

  static void add_command(ImDrawList& list, unsigned triangles, unsigned vertex_offset, ImVec4 clip,
                          std::intptr_t texture) {
    ImDrawCmd command;
    command.ClipRect = clip;
    command.TextureId = (ImTextureID)texture;
    command.VtxOffset = vertex_offset;
    command.IdxOffset = static_cast<unsigned>(list.IdxBuffer.Size);
    command.ElemCount = 3 * triangles;
    for (unsigned i = 0; i < 3 * triangles; ++i) list.IdxBuffer.push_back(static_cast<ImDrawIdx>(i % 3));
    list.CmdBuffer.push_back(command);
  }

  static ImDrawData data_of(std::vector<ImDrawList*>& lists, ImVec2 size, ImVec2 scale) {
    ImDrawData data;
    data.Valid = true;
    data.CmdLists = lists.data();
    data.CmdListsCount = static_cast<int>(lists.size());
    data.DisplayPos = ImVec2(10, 20);
    data.DisplaySize = size;
    data.FramebufferScale = scale;
    return data;
  }
};

TEST_F(TrianglesTest, ListsFollowOneAnotherInPixelsOfTheFramebuffer) {
  ImDrawList first(ImGui::GetDrawListSharedData()), second(ImGui::GetDrawListSharedData());
  fill(first, 3);
  fill(second, 6);
  add_command(first, 1, 0, ImVec4(10, 20, 60, 50), 7);
  add_command(second, 1, 3, ImVec4(15, 25, 1000, 30.5f), 9);
  add_command(second, 1, 0, ImVec4(-5, -5, 20, 30), 7);
  std::vector<ImDrawList*> lists{&first, &second};
  Triangles found;
  found.collect(data_of(lists, ImVec2(100, 60), ImVec2(2, 2)));

  EXPECT_EQ(found.width, 200);
  EXPECT_EQ(found.height, 120);
  ASSERT_EQ(found.vertices.size(), 9u);
  EXPECT_EQ(found.vertices[5].x, 4);
  EXPECT_EQ(found.vertices[5].y, 4);
  EXPECT_EQ(found.vertices[5].u, 2);
  EXPECT_EQ(found.vertices[5].v, -2);
  EXPECT_EQ(found.vertices[5].colour, 2u);
  EXPECT_EQ(found.indices, (std::vector<std::uint32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5}))
      << "counted over all lists";
  EXPECT_EQ(found.names, (std::vector<std::uintptr_t>{7, 9}));
  ASSERT_EQ(found.commands.size(), 3u);
  const Command& clipped = found.commands[1];
  EXPECT_EQ(clipped.left, 10);
  EXPECT_EQ(clipped.top, 10);
  EXPECT_EQ(clipped.right, 200) << "not beyond the framebuffer";
  EXPECT_EQ(clipped.bottom, 21);
  EXPECT_EQ(clipped.texture, 1);
  EXPECT_EQ(clipped.first_index, 3u);
  EXPECT_EQ(clipped.triangles, 1u);
  EXPECT_EQ(found.commands[2].left, 0);
  EXPECT_EQ(found.commands[2].texture, 0);
}

TEST_F(TrianglesTest, WhatCannotBeSeenIsLeftOutAndNothingStaysOfTheFrameBefore) {
  ImDrawList list(ImGui::GetDrawListSharedData());
  fill(list, 3);
  add_command(list, 2, 0, ImVec4(200, 20, 260, 50), 1);
  add_command(list, 2, 0, ImVec4(30, 50, 30, 60), 2);
  add_command(list, 2, 0, ImVec4(10, 20, 60, 50), 3);
  list.CmdBuffer.back().UserCallback = [](const ImDrawList*, const ImDrawCmd*) {};
  std::vector<ImDrawList*> lists{&list}, none;
  Triangles found;
  found.collect(data_of(lists, ImVec2(50, 30), ImVec2(1, 1)));
  EXPECT_TRUE(found.commands.empty());
  EXPECT_TRUE(found.indices.empty());
  found.collect(data_of(none, ImVec2(0, 0), ImVec2(1, 1)));
  EXPECT_TRUE(found.vertices.empty());
  EXPECT_EQ(found.width, 0);
}

}  // namespace
}  // namespace warpscope::ui::paint::draw_list_test
