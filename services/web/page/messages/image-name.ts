/** The name of an image as its author has uploaded it, without the id that the server has put in front of it. */
export const imageName = (filename: string) => filename.replace(/^[0-9a-f-]{36}-/, '')
