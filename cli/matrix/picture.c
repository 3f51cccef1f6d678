/* SPDX-License-Identifier: Apache-2.0 */
/* Counts nonzeros per pixel, colours pixels, and writes PNG. */
#include "matrix/picture.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "output/output.h"
#include "output/terminal.h"

enum { MARGIN = 12, CHANNELS = 3 };

static const unsigned char background[CHANNELS] = {252, 252, 250};
static const unsigned char frame[CHANNELS] = {120, 124, 130};
static const unsigned char line_colour[CHANNELS] = {232, 148, 96};

static void put(cli_picture *picture, int x, int y, const unsigned char *colour) {
  memcpy(picture->rgb + ((size_t)y * (size_t)picture->width + (size_t)x) * CHANNELS, colour, CHANNELS);
}

/* Interpolates between five anchors, from light to dark blue, whose CIE lightness falls evenly from 86 to 14,
 * so that equal steps of t look equal. */
void cli_picture_colour(double t, unsigned char *out) {
  static const double anchor[5][CHANNELS] = {
      {166, 199, 230}, {108, 158, 209}, {62, 118, 178}, {28, 78, 138}, {8, 38, 84}};
  double place = t * 4;
  int low = place >= 4 ? 3 : (int)place;
  double part = place - low;
  for (int c = 0; c < CHANNELS; c++)
    out[c] = (unsigned char)lround(anchor[low][c] + part * (anchor[low + 1][c] - anchor[low][c]));
}

/* Returns the pixels of a side with `cells` cells, if the longer side has `most` cells and at most size
 * pixels. A side has at least size / 8 and at least 8 pixels, so long narrow matrices are drawn wider. */
static int side(int64_t cells, int64_t most, int size) {
  if (most <= 0)
    return size;
  double scale = (double)size / (double)most;
  if (scale > 1)
    scale = floor(scale);
  int least = size / 8 > 8 ? size / 8 : 8;
  return (int)lround(fmax((double)cells * scale, least));
}

/* Returns the end of the drawing of a cell of pixels [begin, end): large cells keep a gap. */
static int64_t cell_end(int64_t begin, int64_t end) {
  return end - begin > 3 ? end - 1 : end;
}

/* Returns the pixel in which a cell begins. */
static int64_t pixel_of(int64_t cell, int pixels, int64_t cells) {
  return (int64_t)((double)cell * (double)pixels / (double)cells);
}

/* Counts each nonzero in every pixel that its cell covers: one pixel in a large matrix, a rectangle in a
 * small one. */
static void count(const sley_csr *a, const cli_picture *picture, uint32_t *counts) {
  int width = picture->inner_width, height = picture->inner_height;
  bool enlarged_x = width > a->cols, enlarged_y = height > a->rows;
  for (int64_t i = 0; i < a->rows; i++) {
    int64_t y0 = pixel_of(i, height, a->rows);
    int64_t y1 = enlarged_y ? cell_end(y0, pixel_of(i + 1, height, a->rows)) : y0 + 1;
    for (int64_t p = a->rowptr[i]; p < a->rowptr[i + 1]; p++) {
      int64_t j = a->index == SLEY_I32 ? ((const int32_t *)a->col)[p] : ((const int64_t *)a->col)[p];
      int64_t x0 = pixel_of(j, width, a->cols);
      int64_t x1 = enlarged_x ? cell_end(x0, pixel_of(j + 1, width, a->cols)) : x0 + 1;
      for (int64_t y = y0; y < y1; y++)
        for (int64_t x = x0; x < x1; x++)
          counts[y * width + x]++;
    }
  }
}

/* Returns the number of nonzeros at the dark end of the scale. Colours depend on log(count), from one nonzero
 * to about the 99.5th percentile of the pixels with nonzeros, so that a few full pixels do not make all
 * others light. */
static uint32_t dense_end(const uint32_t *counts, size_t pixels) {
  enum { BINS = 33 };
  uint64_t bin[BINS] = {0}, filled = 0, seen = 0;
  for (size_t i = 0; i < pixels; i++) {
    if (counts[i]) {
      bin[32 - __builtin_clz(counts[i])]++;
      filled++;
    }
  }
  int last = 1;
  for (int b = 1; b < BINS; b++) {
    seen += bin[b];
    last = b;
    if ((double)seen >= 0.995 * (double)filled)
      break;
  }
  return last >= 32 ? UINT32_MAX : (1u << last) - 1;
}

static void paint(cli_picture *picture, const uint32_t *counts) {
  size_t pixels = (size_t)picture->inner_width * (size_t)picture->inner_height;
  uint32_t most = dense_end(counts, pixels);
  size_t filled = 0;
  for (size_t i = 0; i < pixels; i++)
    filled += counts[i] != 0;
  /* Single points need contrast, so an almost empty picture does not use the light half of the scale. */
  double lightest = (double)filled < 0.03 * (double)pixels ? 0.5 : 0;
  picture->most = most;
  picture->lightest = lightest;
  for (int y = 0; y < picture->inner_height; y++) {
    for (int x = 0; x < picture->inner_width; x++) {
      uint32_t here = counts[(size_t)y * (size_t)picture->inner_width + (size_t)x];
      if (!here)
        continue;
      unsigned char colour[CHANNELS];
      double t = most > 1 ? log((double)here) / log((double)most) : 0.5;
      cli_picture_colour(lightest + (1 - lightest) * (t > 1 ? 1 : t), colour);
      put(picture, picture->left + x, picture->top + y, colour);
    }
  }
}

/* Colours a pixel of the matrix's area if it has no nonzero. */
static void put_behind(cli_picture *picture, int x, int y, const unsigned char *colour) {
  const unsigned char *here = picture->rgb + ((size_t)y * (size_t)picture->width + (size_t)x) * CHANNELS;
  if (memcmp(here, background, CHANNELS) == 0)
    put(picture, x, y, colour);
}

static void draw_frame(cli_picture *picture) {
  int x0 = picture->left - 1, x1 = picture->left + picture->inner_width;
  int y0 = picture->top - 1, y1 = picture->top + picture->inner_height;
  for (int x = x0; x <= x1; x++) {
    put(picture, x, y0, frame);
    put(picture, x, y1, frame);
  }
  for (int y = y0; y <= y1; y++) {
    put(picture, x0, y, frame);
    put(picture, x1, y, frame);
  }
}

sley_status cli_picture_of(const sley_matrix *matrix, int size, cli_picture *out) {
  sley_csr a;
  void *counts = NULL, *rgb = NULL;
  *out = (cli_picture){0};
  sley_status status = sley_matrix_csr(matrix, &a);
  if (status != SLEY_OK)
    return status;
  int64_t most = a.rows > a.cols ? a.rows : a.cols;
  cli_picture picture = {.left = MARGIN, .top = MARGIN, .rows = a.rows, .cols = a.cols};
  picture.inner_width = side(a.cols, most, size);
  picture.inner_height = side(a.rows, most, size);
  picture.width = picture.inner_width + 2 * MARGIN;
  picture.height = picture.inner_height + 2 * MARGIN;
  int64_t pixels = (int64_t)picture.width * picture.height;
  int64_t inner = (int64_t)picture.inner_width * picture.inner_height;
  status = sley_buffer_alloc(inner * (int64_t)sizeof(uint32_t), &counts);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(pixels * CHANNELS, &rgb);
  if (status == SLEY_OK) {
    picture.rgb = rgb;
    memset(counts, 0, (size_t)inner * sizeof(uint32_t));
    for (int64_t i = 0; i < pixels; i++)
      memcpy(picture.rgb + i * CHANNELS, background, CHANNELS);
    count(&a, &picture, counts);
    paint(&picture, counts);
    draw_frame(&picture);
    *out = picture;
  }
  sley_buffer_free(counts);
  return status;
}

void cli_picture_lines(cli_picture *picture, const int64_t *row_begin, const int64_t *col_begin, int ranks) {
  for (int r = 1; r < ranks; r++) {
    if (picture->rows > 0 && row_begin[r] > 0 && row_begin[r] < picture->rows) {
      int y = picture->top + (int)pixel_of(row_begin[r], picture->inner_height, picture->rows);
      for (int x = picture->left; x < picture->left + picture->inner_width; x++)
        put_behind(picture, x, y, line_colour);
    }
    if (picture->cols > 0 && col_begin[r] > 0 && col_begin[r] < picture->cols) {
      int x = picture->left + (int)pixel_of(col_begin[r], picture->inner_width, picture->cols);
      for (int y = picture->top; y < picture->top + picture->inner_height; y++)
        put_behind(picture, x, y, line_colour);
    }
  }
}

static void put_png(png_structp png, png_bytep bytes, size_t count) {
  if (!cli_output_put(png_get_io_ptr(png), bytes, count))
    png_longjmp(png, 1);
}

static void flush_png(png_structp png) {
  (void)png;
}

/* Replaces libpng's error function, which prints. */
static void fail_png(png_structp png, png_const_charp text) {
  (void)text;
  png_longjmp(png, 1);
}

/* libpng reports errors by a jump back to setjmp. */
static bool write_png(const cli_picture *picture, cli_output *output) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail_png, NULL);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, output, put_png, flush_png);
  png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < picture->height; y++)
    png_write_row(png, picture->rgb + (size_t)y * (size_t)picture->width * CHANNELS);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

bool cli_picture_write(const cli_picture *picture, const char *path) {
  cli_output output;
  if (!cli_output_open(&output, path))
    return false;
  if (!write_png(picture, &output) && !output.reason) {
    cli_error("%s: cannot write the picture", path);
    cli_output_discard(&output);
    return false;
  }
  return cli_output_commit(&output);
}

void cli_picture_free(cli_picture *picture) {
  sley_buffer_free(picture->rgb);
  *picture = (cli_picture){0};
}
