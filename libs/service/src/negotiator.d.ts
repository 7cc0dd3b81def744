/** The part of negotiator 1 that we use. The published types are those of version 0.6, which has no `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> })
    /** The best of `available` by `Accept-Encoding`. Among codings that a client accepts equally, `preferred` decides. */
    encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined
    /** All languages of `Accept-Language`, the best first; `['*']` without the header. */
    languages(): string[]
  }
}
