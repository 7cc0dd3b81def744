import type { Message } from '@parley/contract'

/** The name of an image as its author has uploaded it, without the id that the server has put in front of it. */
export const imageName = (filename: string) => filename.replace(/^[0-9a-f-]{36}-/, '')

/** The names of all files of a message, images first. */
export const namesOfFiles = ({ images, attachments }: Pick<Message, 'images' | 'attachments'>): string[] => [
  ...images.map(imageName),
  ...attachments.map(({ originalName }) => originalName),
]
