import { readFileSync } from 'node:fs'

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')

/** The version of Parley, from the package.json of the root folder. */
export const version: string = JSON.parse(manifest).version
