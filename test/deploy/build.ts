import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Stage, type Step, stages } from './dockerfile.ts'
import { root } from './rendered.ts'

const run = promisify(execFile)

export interface BuiltImage {
  /** The folder of the image's file system. */
  directory: string
  workingDirectory: string
  /** The command of its `ENTRYPOINT`, with `node` as the first part. */
  entrypoint: string[]
}

/**
 * Executes the steps of the Dockerfile without an engine: every stage has a folder for its root, `COPY` copies the
 * files that .dockerignore allows, `RUN` runs in the working directory below it. Steps cannot use paths outside of that
 * folder.
 */
export async function buildImage(directory: string): Promise<BuiltImage> {
  const roots = new Map<string | null, string>()
  let image: BuiltImage | undefined
  for (const [index, stage] of stages.entries()) {
    const stageRoot = path.join(directory, `stage-${index}`)
    mkdirSync(stageRoot, { recursive: true })
    roots.set(stage.name, stageRoot)
    image = await buildStage(stage, stageRoot, roots)
  }
  return image!
}

async function buildStage({ steps }: Stage, stageRoot: string, roots: Map<string | null, string>): Promise<BuiltImage> {
  const image: BuiltImage = { directory: stageRoot, workingDirectory: stageRoot, entrypoint: [] }
  for (const step of steps) {
    const { keyword, argument } = step
    if (keyword === 'WORKDIR') {
      image.workingDirectory = path.join(stageRoot, argument)
      mkdirSync(image.workingDirectory, { recursive: true })
    } else if (keyword === 'COPY') copy(step, image, roots)
    else if (keyword === 'RUN') await runStep(argument, image.workingDirectory)
    else if (keyword === 'ENTRYPOINT') image.entrypoint = JSON.parse(argument) as string[]
  }
  return image
}

function copy(
  { argument, flags }: Step,
  { directory, workingDirectory }: BuiltImage,
  roots: Map<string | null, string>,
) {
  const words = argument.split(/\s+/)
  const from = flags.from === undefined ? null : roots.get(flags.from)!
  const target = words.pop()!
  const destination = target.startsWith('/') ? path.join(directory, target) : path.join(workingDirectory, target)
  for (const source of words) {
    const origin = path.join(from ?? root, source)
    // Like Docker: the contents of a folder are copied, and a file is copied into a target that ends with a slash.
    const place =
      statSync(origin).isFile() && target.endsWith('/') ? path.join(destination, path.basename(source)) : destination
    if (from === null) {
      const filter = (file: string) => !isIgnored(path.relative(root, file))
      cpSync(origin, place, { recursive: true, verbatimSymlinks: true, filter })
    } else {
      // Moving is fast, and earlier stages are not needed again.
      for (const name of readdirSync(origin)) renameSync(path.join(origin, name), path.join(place, name))
    }
  }
}

/** Runs the command of a step, without the environment variables of vitest. */
async function runStep(command: string, cwd: string) {
  if (/(^|[\s=])\/\w/.test(command)) throw new Error(`this step reaches outside of its folder: ${command}`)
  const { HOME, PATH } = process.env
  const env = { HOME, PATH: `${path.dirname(process.execPath)}:${PATH}`, npm_config_prefer_offline: 'true' }
  await run('sh', ['-ec', command], { cwd, env, maxBuffer: 2 ** 26 })
}

const patterns = readFileSync(path.join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

/** Whether .dockerignore excludes a path: the last pattern that matches the path or a folder above it decides. */
export function isIgnored(file: string): boolean {
  const parts = file.split(path.sep)
  const places = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  let ignored = false
  for (const pattern of patterns) {
    const isException = pattern.startsWith('!')
    const glob = isException ? pattern.slice(1) : pattern
    if (places.some((place) => path.matchesGlob(visible(place), visible(glob)))) ignored = !isException
  }
  return ignored
}

/** For Docker, unlike for Node, a star stands for names with a dot in front too. */
const visible = (place: string) => place.replaceAll(/(^|\/)\./g, '$1_')
