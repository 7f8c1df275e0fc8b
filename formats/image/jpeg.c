#include "formats/image/jpeg.h"

#ifdef NB_JPEG

#include "common/mem.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

/* Where the library goes instead of ending the process. */
struct failure {
	struct jpeg_error_mgr manager;
	jmp_buf out;
};

static void fail(j_common_ptr jpeg)
{
	longjmp(((struct failure *)jpeg->client_data)->out, 1);
}

static void say_nothing(j_common_ptr jpeg)
{
	(void)jpeg;
}

static void encode(j_compress_ptr jpeg, int width, int height, const uint8_t *rgb, int quality)
{
	jpeg->image_width = (JDIMENSION)width;
	jpeg->image_height = (JDIMENSION)height;
	jpeg->input_components = 3;
	jpeg->in_color_space = JCS_RGB;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, quality, TRUE);
	if (quality >= 90)
		jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
	jpeg_start_compress(jpeg, TRUE);
	while (jpeg->next_scanline < jpeg->image_height) {
		JSAMPROW row = (JSAMPROW)(uintptr_t)&rgb[3 * (size_t)width * jpeg->next_scanline];
		jpeg_write_scanlines(jpeg, &row, 1);
	}
	jpeg_finish_compress(jpeg);
}

int nb_jpeg_encode(int width, int height, const uint8_t *rgb, int quality, uint8_t **bytes, size_t *size)
{
	struct jpeg_compress_struct jpeg;
	struct failure failure;
	struct {
		unsigned char *data; /* of malloc */
		unsigned long size;
	} file = {NULL, 0};
	if (width < 1 || height < 1 || width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION)
		return NB_EINVAL;
	memset(&jpeg, 0, sizeof jpeg);
	jpeg.err = jpeg_std_error(&failure.manager);
	jpeg.client_data = &failure;
	failure.manager.error_exit = fail;
	failure.manager.output_message = say_nothing;
	*bytes = NULL;
	if (setjmp(failure.out) == 0) { /* for want of memory it comes back */
		jpeg_create_compress(&jpeg);
		jpeg_mem_dest(&jpeg, &file.data, &file.size);
		encode(&jpeg, width, height, rgb, quality);
		*bytes = nb_alloc(*size = file.size, 1);
		if (*bytes)
			memcpy(*bytes, file.data, *size);
	}
	jpeg_destroy_compress(&jpeg);
	free(file.data);
	return *bytes ? NB_OK : NB_ENOMEM;
}

#else

int nb_jpeg_encode(int width, int height, const uint8_t *rgb, int quality, uint8_t **bytes, size_t *size)
{
	(void)width, (void)height, (void)rgb, (void)quality, (void)bytes, (void)size;
	return NB_EUNSUPPORTED;
}

#endif
