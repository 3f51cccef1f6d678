/* SPDX-License-Identifier: Apache-2.0 */
/* Rutherford-Boeing files in drawn Fortran formats: groups with repeat counts, skipped columns, scale
 * factors, lines within a format, and numbers with and without point and exponent, with blanks in them. The
 * oracle is strtod of the number with its decimal exponent as the standard counts it; values agree to the
 * bit. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "formats.h"

enum { ITEMS = 64, TEXT = 1 << 16, MOST = 40 };

typedef struct drawer {
  uint64_t seed, next;
} drawer;

static int draw(drawer *d, int low, int high) {
  return low + (int)(sl_random(d->seed, d->next++, 0) % (uint64_t)(high - low + 1));
}

/* x: skips; p: scale; /: next line; else a number. */
typedef struct item {
  char kind;
  int width, decimals;
} item;

typedef struct drawn {
  char text[256];
  item items[ITEMS];
  int count, again;
} drawn;

static void say(drawn *f, const char *format, int a, int b) {
  size_t used = strlen(f->text);
  snprintf(f->text + used, sizeof f->text - used, format, a, b);
}

static void draw_number(drawer *d, drawn *f, bool real, int times) {
  static const char *const kinds[] = {"F%d.%d", "E%d.%d", "d%d.%d", "G%d.%d", "ES%d.%d", "E%d.%dE3"};
  item number = {real ? 'r' : 'i', real ? draw(d, 12, 26) : draw(d, 4, 9), real ? draw(d, 0, 9) : 0};
  if (times > 1)
    say(f, "%d", times, 0);
  say(f, real ? kinds[draw(d, 0, 5)] : "I%d", number.width, number.decimals);
  for (int i = 0; i < times; i++)
    f->items[f->count++] = number;
}

static void draw_other(drawer *d, drawn *f, bool real) {
  int kind = draw(d, 0, 3);
  item other = {'x', draw(d, 1, 3), 0};
  if (kind == 0) {
    say(f, "%dX,", other.width, 0);
  } else if (kind == 1 && real) {
    other = (item){'p', draw(d, -1, 2), 0};
    say(f, draw(d, 0, 1) ? "%dP," : "%dP", other.width, 0);
  } else if (kind == 2 && f->count > 0 && !strchr(f->text + 1, '(')) {
    other = (item){'/', 0, 0};
    say(f, "/", 0, 0);
  } else {
    return;
  }
  f->items[f->count++] = other;
}

/* A format of at most `room` characters. */
static void draw_format(drawer *d, bool real, size_t room, drawn *f) {
  do {
    *f = (drawn){.text = "("};
    int parts = draw(d, 1, 2);
    for (int p = 0; p < parts; p++) {
      draw_other(d, f, real);
      draw_number(d, f, real, draw(d, 1, 5));
      if (p + 1 < parts)
        say(f, ",", 0, 0);
    }
    if (draw(d, 0, 1)) {
      int times = draw(d, 1, 4), first = f->count;
      f->again = first;
      say(f, ",%d(", times, 0);
      draw_other(d, f, real);
      draw_number(d, f, real, draw(d, 1, 2));
      say(f, ")", 0, 0);
      for (int i = f->count - first, all = i * times; i < all; i++)
        f->items[f->count++] = f->items[first + i % (all / times)];
    }
    say(f, ")", 0, 0);
  } while (strlen(f->text) > room);
}

/* Puts blanks into the number, and around it up to width. */
static void place(drawer *d, const char *number, int width, char *field) {
  int left = width - (int)strlen(number), at = 0;
  bool inside = draw(d, 0, 3) == 0;
  for (const char *c = number; *c; c++) {
    for (; left > 0 && (inside ? draw(d, 0, 5) == 0 : c == number && draw(d, 0, 8) > 0); left--)
      field[at++] = ' ';
    field[at++] = *c;
  }
  while (left-- > 0)
    field[at++] = ' ';
  field[at] = 0;
}

/* Writes a field for the item; returns its value under the scale factor. */
static double draw_real(drawer *d, const item *number, int scale, char *field) {
  char digits[16], text[64], canonical[64];
  int length, count, point, exponent;
  do {
    count = draw(d, 1, 9);
    point = draw(d, -3, count); /* digits before it; below 0: none */
    int form = draw(d, 0, 3);
    exponent = form == 0 ? 0 : draw(d, -60, 60);
    for (int i = 0; i < count; i++)
      digits[i] = (char)('0' + draw(d, 0, 9));
    digits[count] = 0;
    const char *sign = draw(d, 0, 1) ? "-" : draw(d, 0, 1) ? "+" : "";
    length = point < 0 ? snprintf(text, sizeof text, "%s%s", sign, digits)
                       : snprintf(text, sizeof text, "%s%.*s.%s", sign, point, digits, digits + point);
    static const char *const marks[] = {"", "E%d", "D%+03d", "%+d"};
    if (form > 0)
      length += snprintf(text + length, sizeof text - (size_t)length, marks[form], exponent);
    int shift = (point < 0 ? number->decimals : count - point) + (form > 0 ? 0 : scale);
    snprintf(canonical, sizeof canonical, "%s%se%d", sign, digits, exponent - shift);
  } while (length > number->width);
  place(d, text, number->width, field);
  return strtod(canonical, NULL);
}

/* Appends count numbers in the format: the given whole numbers, or random reals, which are stored in
 * values. */
static void put_section(drawer *d, const drawn *f, const int64_t *whole, double *values, int count,
                        char *text) {
  int scale = 0, next = 0;
  char *at = text + strlen(text);
  for (int i = 0; i < count; next++) {
    if (next == f->count) {
      next = f->again;
      *at++ = '\n';
    }
    const item *what = &f->items[next];
    if (what->kind == 'p') {
      scale = what->width;
    } else if (what->kind == '/') {
      *at++ = '\n';
    } else if (what->kind == 'x') {
      at += sprintf(at, "%*s", what->width, "");
    } else {
      char number[24], field[64];
      if (whole) {
        snprintf(number, sizeof number, "%d", (int)whole[i]);
        place(d, number, what->width, field);
      } else {
        values[i] = draw_real(d, what, scale, field);
      }
      at += sprintf(at, "%s", field);
      i++;
    }
  }
  /* Descriptors between the last number and the next number also take effect. */
  for (; next < f->count && strchr("px/", f->items[next].kind); next++)
    if (f->items[next].kind == '/')
      *at++ = '\n';
  sprintf(at, "\n");
}

static void files_in_drawn_formats_read(void **state) {
  (void)state;
  static char text[TEXT];
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    drawer d = {seed, 0};
    drawn format[3];
    int rows = draw(&d, 1, 9), cols = draw(&d, 1, 9), count = 0;
    int64_t pointers[16] = {1}, indices[MOST * 3];
    double values[MOST * 3], dense[81];
    for (int j = 0; j < cols; j++) {
      for (int i = 0; i < rows; i++)
        if (draw(&d, 0, 3) == 0)
          indices[count++] = i + 1;
      pointers[j + 1] = count + 1;
    }
    if (count == 0)
      continue;
    for (int s = 0; s < 3; s++)
      draw_format(&d, s == 2, s == 2 ? 20 : 16, &format[s]);
    snprintf(text, sizeof text, "%-72s%-8s\n%14d%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s\n",
             "T", "KEY", 3, 1, 1, 1, 0, "RUA", rows, cols, count, 0, format[0].text, format[1].text,
             format[2].text);
    put_section(&d, &format[0], pointers, NULL, cols + 1, text);
    put_section(&d, &format[1], indices, NULL, count, text);
    put_section(&d, &format[2], NULL, values, count, text);
    for (int i = 0; i < rows * cols; i++)
      dense[i] = (double)NAN;
    for (int j = 0; j < cols; j++)
      for (int64_t e = pointers[j] - 1; e < pointers[j + 1] - 1; e++)
        dense[(indices[e] - 1) * cols + j] = values[e];
    sley_matrix *a = NULL;
    if (test_read("t.rua", text, SLEY_F64, &a) != SLEY_OK)
      fail_msg("seed %d: %s\n%s", (int)seed, sley_last_error(), text);
    test_is(a, rows, cols, dense);
    sl_matrix_destroy(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_in_drawn_formats_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
