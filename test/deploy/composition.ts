import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { root } from './rendered.ts'

/** A service of `docker-compose.yml`. Which fields there are is for the specification to say. */
export interface ComposedService {
  image: string
  entrypoint?: string[]
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
  profiles?: string[]
  user?: string
  networks?: string[]
  [field: string]: unknown
}

export const text = readFileSync(path.join(root, 'docker-compose.yml'), 'utf8')

/** The file as compose reads it where nothing is set: variables are their defaults, anchors are merged. */
export const composition = parse(text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$'), {
  merge: true,
}) as {
  services: Record<string, ComposedService>
  volumes: Record<string, null>
  networks: Record<string, { internal?: boolean }>
}

/** What `docker compose up` starts. */
export const withoutProfile = Object.entries(composition.services)
  .filter(([, { profiles }]) => !profiles)
  .map(([name]) => name)
