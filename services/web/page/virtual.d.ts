declare module '*?worker&url' {
  const address: string
  export default address
}
declare module 'virtual:emoji' {
  const list: readonly import('./emoji/emoji-list.ts').ListedEmoji[]
  export default list
  /** The emoji of the newest versions of Unicode, which many fonts do not have yet. */
  export const newest: readonly string[]
}
declare module 'virtual:emoji-words-de' {
  const words: readonly string[]
  export default words
}
declare module 'virtual:inter' {
  const parts: readonly [file: string, range: string, style: string][]
  export default parts
}
declare module 'virtual:emoji-font' {
  export { default } from 'virtual:inter'
}
// Each language has its own copy of this module, so that its file imports no other one.
declare module '*?de' {
  export const addLanguage: typeof import('./texts/server/add-language.ts').addLanguage
}
declare module '*?ar' {
  export { addLanguage } from '*?de'
}
