/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a PNG's width, height and one pixel, for the shell tests: png_pixel FILE X Y -> "W H RRGGBB". */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc != 4)
    return 1;
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, argv[1]))
    return 1;
  image.format = PNG_FORMAT_RGB;
  unsigned char *rgb = malloc(PNG_IMAGE_SIZE(image));
  if (!rgb || !png_image_finish_read(&image, NULL, rgb, 0, NULL)) {
    free(rgb);
    return 1;
  }
  unsigned long x = strtoul(argv[2], NULL, 10), y = strtoul(argv[3], NULL, 10);
  if (x >= image.width || y >= image.height) {
    free(rgb);
    return 2;
  }
  const unsigned char *pixel = rgb + (y * image.width + x) * 3;
  printf("%u %u %02x%02x%02x\n", image.width, image.height, pixel[0], pixel[1], pixel[2]);
  free(rgb);
  return 0;
}
