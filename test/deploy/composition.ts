import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { root } from './rendered.ts'

/** A service of `docker-compose.yml`. The specification defines its fields. */
interface ComposedService {
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

interface Composition {
  services: Record<string, ComposedService>
  volumes: Record<string, null>
  networks: Record<string, { internal?: boolean }>
}

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

/** Parses a compose file as Docker does when no variable is set: each has its default. Anchors are merged. */
const parseComposition = (written: string) =>
  parse(written.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$'), { merge: true }) as Composition

export const text = read('docker-compose.yml')
export const composition = parseComposition(text)

/** The content of `docker-compose.key-pairs.yml`. */
export const keyPairs = parseComposition(read('docker-compose.key-pairs.yml'))

/** The services that `docker compose up` starts. */
export const withoutProfile = Object.entries(composition.services)
  .filter(([, { profiles }]) => !profiles)
  .map(([name]) => name)
