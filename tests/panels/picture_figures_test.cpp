#include "ui/panels/pictures/picture_figures.h"

#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::picture_figures_test {
namespace {

const training::ImageShape kShape{2, 12, 12, 1};

std::shared_ptr<std::vector<float>> values(float offset) {
  auto result = std::make_shared<std::vector<float>>();
  for (std::size_t i = 0; i < kShape.elements(); ++i) {
    result->push_back(static_cast<float>(i * 7 % 13) / 13 + offset * static_cast<float>(i / 144 + 1));
  }
  return result;
}

template <class Figures>
void wait_for(Figures& figures) {
  while (!figures.advance()) std::this_thread::yield();
}

TEST(PictureFigures, AreThoseOfEachImage) {
  const PictureFigures figures = figures_of(*values(0), *values(0.1f), kShape, true);
  ASSERT_EQ(figures.mse.size(), 2u);
  EXPECT_NEAR(figures.mse[0], 0.01, 1e-6);
  EXPECT_NEAR(figures.mse[1], 0.04, 1e-6);
  EXPECT_NEAR(figures.values(PictureMetric::psnr)[0], 20, 1e-3);
  ASSERT_EQ(figures.ssim.size(), 2u);
  EXPECT_GT(figures.ssim[0], figures.ssim[1]);
  EXPECT_LT(figures.ssim[0], 1);
  EXPECT_TRUE(figures_of(*values(0), *values(0.1f), kShape, false).ssim.empty());
}

TEST(PictureFigures, AreReadAsShortAsTheyTellImagesApart) {
  EXPECT_EQ(figure_text(PictureMetric::psnr, 24.126), "24.13");
  EXPECT_EQ(figure_text(PictureMetric::psnr, INFINITY), "inf");
  EXPECT_EQ(figure_text(PictureMetric::ssim, 0.91349), "0.913");
  EXPECT_EQ(figure_text(PictureMetric::ssim, std::nan("")), "-");
  EXPECT_EQ(figure_text(PictureMetric::mse, 0.00386), "0.0039");
  EXPECT_EQ(figure_text(PictureMetric::mse, 0.0000123), "1.2e-05");
}

TEST(RowFigures, TheLastOnesStayWhileNewerAreComputed) {
  RowFigures figures;
  const SharedValues original = values(0), first = values(0.1f), second = values(0.2f);
  EXPECT_EQ(figures.find(PictureRow::other), nullptr);
  figures.want(PictureRow::other, original, first, kShape, false);
  wait_for(figures);
  ASSERT_NE(figures.find(PictureRow::other), nullptr);
  EXPECT_NEAR(figures.find(PictureRow::other)->mse[0], 0.01, 1e-6);
  figures.want(PictureRow::other, original, second, kShape, false);
  EXPECT_NEAR(figures.find(PictureRow::other)->mse[0], 0.01, 1e-6);
  wait_for(figures);
  EXPECT_NEAR(figures.find(PictureRow::other)->mse[0], 0.04, 1e-6);
  EXPECT_EQ(figures.find(PictureRow::now), nullptr);
}

TEST(RowFigures, SimilarityIsComputedOnceItIsAskedFor) {
  RowFigures figures;
  const SharedValues original = values(0), pictures = values(0.1f);
  figures.want(PictureRow::now, original, pictures, kShape, false);
  wait_for(figures);
  EXPECT_TRUE(figures.find(PictureRow::now)->ssim.empty());
  figures.want(PictureRow::now, original, pictures, kShape, true);
  wait_for(figures);
  EXPECT_EQ(figures.find(PictureRow::now)->ssim.size(), 2u);
}

TEST(RowFigures, ARowWithoutPicturesHasNone) {
  RowFigures figures;
  const SharedValues original = values(0);
  figures.want(PictureRow::now, original, values(0.1f), kShape, false);
  wait_for(figures);
  figures.want(PictureRow::now, original, nullptr, kShape, false);
  EXPECT_EQ(figures.find(PictureRow::now), nullptr);
}

class HistoryFiguresTest : public testing::Test {
 protected:
  void add(std::uint64_t step, float offset) {
    training::ShownImages images;
    images.shape = kShape;
    images.step = step;
    images.original = *values(0);
    images.reconstruction = *values(offset);
    images.errors = {offset * offset, 4 * offset * offset};
    history->add(images);
  }
  const std::shared_ptr<training::ImageHistory> history = std::make_shared<training::ImageHistory>();
  HistoryFigures figures;
};

TEST_F(HistoryFiguresTest, ErrorsAreThereAtOnce) {
  add(0, 0.3f);
  add(10, 0.1f);
  figures.update(history, false);
  ASSERT_EQ(figures.moments().size(), 2u);
  EXPECT_EQ(figures.moments()[1].step, 10u);
  EXPECT_NEAR(figures.moments()[1].figures.values(PictureMetric::psnr)[0], 20, 1e-3);
  EXPECT_FALSE(figures.advance()) << "nothing is computed that nobody asks for";
}

TEST_F(HistoryFiguresTest, SimilarityComesForEveryStep) {
  for (std::uint64_t step = 0; step < 20; ++step) add(step, 0.5f / static_cast<float>(step + 1));
  figures.update(history, true);
  const auto missing = [&] {
    for (const HistoryFigures::Moment& moment : figures.moments()) {
      if (moment.figures.ssim.size() != 2) return true;
    }
    return false;
  };
  while (missing()) wait_for(figures);
  EXPECT_GT(figures.moments().back().figures.ssim[0], figures.moments().front().figures.ssim[0]);
  const std::uint64_t version = figures.version();
  figures.update(history, true);
  EXPECT_EQ(figures.version(), version);
}

TEST_F(HistoryFiguresTest, FiguresOfATrainingThatWentBackAreNotKept) {
  add(0, 0.3f);
  add(5, 0.1f);
  figures.update(history, true);
  while (figures.moments()[1].figures.ssim.empty()) wait_for(figures);
  const double before = figures.moments()[1].figures.ssim[0];
  add(5, 0.25f);
  figures.update(history, true);
  EXPECT_NEAR(figures.moments()[1].figures.mse[0], 0.0625, 1e-6);
  while (figures.moments()[1].figures.ssim.empty()) wait_for(figures);
  EXPECT_LT(figures.moments()[1].figures.ssim[0], before);
}

}  // namespace
}  // namespace warpscope::ui::picture_figures_test
