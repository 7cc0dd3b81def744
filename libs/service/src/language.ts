import { type Language, languages } from '@parley/contract'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** The language that the client prefers (`Accept-Language`). Undefined when it names none of ours, as most programs do. */
export const languageOf = ({ headers }: Pick<FastifyRequest, 'headers'>): Language | undefined =>
  languageIn(headers['accept-language'])

/**
 * The preferred one of our languages in a text of a directory: a tag, also with an underscore (`de-AT`, `de_AT`), or a
 * list as in `Accept-Language`. Undefined when it names none of ours.
 */
export const languageIn = (text: string | null | undefined): Language | undefined =>
  new Negotiator({ headers: { 'accept-language': text?.replaceAll('_', '-') } })
    .languages()
    .map((tag) => languages.find((language) => language === tag.split('-')[0]!.toLowerCase()))
    .find((language) => language !== undefined)
