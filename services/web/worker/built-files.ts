/** What the service worker knows of the build of the page. It is inserted when the worker is built. */
export interface BuiltFiles {
  /** The name of the build. It is different for every build of the page. */
  build: string
  /** The addresses of the files that a first view loads. */
  files: readonly string[]
  /** The addresses of all further scripts. */
  parts: readonly string[]
}
