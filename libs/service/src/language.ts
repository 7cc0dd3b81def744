import { type Language, languages } from '@parley/contract'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** The language that the client prefers (`Accept-Language`). Undefined when it names none of ours, as most programs do. */
export const languageOf = (request: Pick<FastifyRequest, 'headers'>): Language | undefined =>
  new Negotiator(request)
    .languages()
    .map((tag) => languages.find((language) => language === tag.split('-')[0]!.toLowerCase()))
    .find((language) => language !== undefined)
