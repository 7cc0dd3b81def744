export { type ImageSize, imageFormats, readImageSize } from './image-size.ts'
export { isSvg } from './svg.ts'
