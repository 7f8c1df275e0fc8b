#include "formats/image/webp.h"

#ifdef NB_WEBP

#include "common/mem.h"

#include <webp/encode.h>

int nb_webp_encode(int width, int height, const uint8_t *rgb, int quality, int effort, uint8_t **bytes, size_t *size)
{
	WebPConfig config;
	WebPPicture picture;
	WebPMemoryWriter file;
	if (width < 1 || height < 1 || width > WEBP_MAX_DIMENSION || height > WEBP_MAX_DIMENSION ||
		!WebPConfigInit(&config) || !WebPPictureInit(&picture))
		return NB_EINVAL;
	config.quality = (float)quality;
	config.method = effort;
	WebPMemoryWriterInit(&file);
	picture.width = width;
	picture.height = height;
	picture.writer = WebPMemoryWrite;
	picture.custom_ptr = &file;
	*bytes = NULL;
	if (WebPPictureImportRGB(&picture, rgb, 3 * width) && WebPEncode(&config, &picture))
		*bytes = nb_alloc(*size = file.size, 1);
	if (*bytes)
		memcpy(*bytes, file.mem, *size);
	WebPPictureFree(&picture);
	WebPMemoryWriterClear(&file);
	return *bytes ? NB_OK : NB_ENOMEM;
}

#else

int nb_webp_encode(int width, int height, const uint8_t *rgb, int quality, int effort, uint8_t **bytes, size_t *size)
{
	(void)width, (void)height, (void)rgb, (void)quality, (void)effort, (void)bytes, (void)size;
	return NB_EUNSUPPORTED;
}

#endif
