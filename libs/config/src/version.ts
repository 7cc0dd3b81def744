import { readFileSync } from 'node:fs'

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')

/** The version of Parley, as the root's package.json has it. */
export const version: string = JSON.parse(manifest).version
