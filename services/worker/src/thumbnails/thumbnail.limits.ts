/** A thumbnail fits into a square with this side. */
export const boxPixels = 512

/**
 * Larger images get no thumbnail: some formats are unpacked whole, at up to eight bytes a pixel. Phones take 12 to 50 million, and a
 * file of some kilobytes can say it has a thousand million.
 */
export const pixelLimit = 50_000_000

/** How the program ends when there is something wrong with the image, and another try would be no use (`EX_DATAERR`). */
export const cannotBeRead = 65
