declare module 'virtual:emoji' {
  const list: readonly [emoji: string, shortNames: readonly string[], words: string][]
  export default list
}
