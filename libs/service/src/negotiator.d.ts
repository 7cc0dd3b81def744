/** What we use of negotiator 1. The published types are those of version 0.6, which knows no `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> })
    /** The best of `available` by `Accept-Encoding`. Those that a client accepts alike are chosen by `preferred`. */
    encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined
  }
}
