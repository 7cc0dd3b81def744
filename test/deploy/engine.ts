import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { BuiltImage } from './build.ts'
import { imageEnvironment, stages } from './dockerfile.ts'

export interface RunOptions {
  /** In place of the image's. */
  entrypoint?: string[] | undefined
  command?: string[] | undefined
  environment?: Record<string, string> | undefined
  /** Where the mounts lie that arguments and variables name. */
  mounts?: Record<string, string>
  /** Runs it as whoever runs the tests, for what has to write. */
  asOwner?: boolean
  input?: string
}

export interface Container {
  /** Both outputs, so far. */
  readonly output: string
  /** The standard output alone, so far. */
  readonly out: string
  readonly exit: Promise<number | null>
  kill(signal: NodeJS.Signals): void
}

/**
 * What an engine does with a built image, without one: processes run as the image's user (where root runs the tests; else as
 * whoever does), on a file system that nobody may write, with the image's environment and nothing of ours.
 */
export class Engine {
  #image: BuiltImage
  #programs: string
  #user: { uid?: number; gid?: number }
  #running = new Set<ChildProcess>()

  constructor(image: BuiltImage, directory: string) {
    this.#image = image
    this.#programs = path.join(directory, 'programs')
    mkdirSync(this.#programs)
    // The base image's Node; ours may lie where that user cannot go.
    cpSync(process.execPath, path.join(this.#programs, 'node'))
    execFileSync('chmod', ['-R', 'a-w', image.directory])
    const [uid, gid] = declared('USER').split(':').map(Number)
    this.#user = process.getuid?.() === 0 ? { uid: uid!, gid: gid! } : {}
  }

  start({ entrypoint, command = [], environment = {}, mounts = {}, asOwner, input }: RunOptions): Container {
    const { PATH, ...own } = imageEnvironment()
    const mounted = (text: string) => {
      const mount = Object.keys(mounts).find((place) => text === place || text.startsWith(`${place}/`))
      return mount === undefined ? text : mounts[mount] + text.slice(mount.length)
    }
    const [program, ...args] = [...(entrypoint ?? this.#image.entrypoint), ...command].map(mounted)
    const variables = Object.entries({ ...own, ...environment }).map(([name, value]) => [name, mounted(value)])
    const child = spawn('/usr/bin/env', [program!, ...args], {
      ...(!asOwner && this.#user),
      cwd: this.#image.workingDirectory,
      env: { ...Object.fromEntries(variables), PATH: this.#pathOf(PATH!) },
    })
    this.#running.add(child)
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const written = { both: '', out: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      written.both += text
      written.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => (written.both += text))
    return {
      get output() {
        return written.both
      },
      get out() {
        return written.out
      },
      exit: once(child, 'close').then(([code]) => {
        this.#running.delete(child)
        return code as number | null
      }),
      kill: (signal) => void child.kill(signal),
    }
  }

  /** Runs it to its end. */
  async run(options: RunOptions): Promise<{ code: number | null; out: string; output: string }> {
    const container = this.start(options)
    const code = await container.exit
    return { code, out: container.out, output: container.output }
  }

  /** The health check of the image, for a process that listens at another port than it does in a container. */
  async healthCheck(port: number): Promise<number | null> {
    const [, command] = /CMD (\[.*\])/.exec(declared('HEALTHCHECK'))!
    const entrypoint = (JSON.parse(command!) as string[]).map((word) =>
      word.replace(`:${imageEnvironment().PORT}/`, `:${port}/`),
    )
    return (await this.run({ entrypoint })).code
  }

  /** Ends what still runs, and lets the image be removed. */
  close() {
    for (const child of this.#running) child.kill('SIGKILL')
    execFileSync('chmod', ['-R', 'u+w', this.#image.directory])
  }

  #pathOf(wish: string) {
    return wish
      .replace('$PATH', `${this.#programs}:/usr/bin:/bin`)
      .replaceAll(/(?<=:|^)\/app/g, this.#image.workingDirectory)
  }
}

/** What the shipped image's stage says last under a keyword. */
const declared = (keyword: string) => stages.at(-1)!.steps.findLast((step) => step.keyword === keyword)!.argument
