import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DockerfileParser, From, type ModifiableInstruction, type PropertyInstruction } from 'dockerfile-ast'
import { root } from './rendered.ts'

export const dockerfileText = readFileSync(path.join(root, 'deploy/Dockerfile'), 'utf8')
const dockerfile = DockerfileParser.parse(dockerfileText)

export interface Step {
  keyword: string
  flags: Record<string, string>
  /** The text of the instruction, with continued lines joined. */
  argument: string
}

export interface Stage {
  name: string | null
  steps: Step[]
}

/** The stages of the Dockerfile in their order, without the instructions before the first stage. */
export const stages: Stage[] = []
for (const instruction of dockerfile.getInstructions()) {
  if (instruction instanceof From) stages.push({ name: instruction.getBuildStage(), steps: [] })
  else {
    stages.at(-1)?.steps.push({
      keyword: instruction.getKeyword(),
      flags: Object.fromEntries(
        ('getFlags' in instruction ? (instruction as ModifiableInstruction).getFlags() : []).map((flag) => [
          flag.getName(),
          flag.getValue()!,
        ]),
      ),
      argument: instruction.getArgumentsContent()!.replace(/\\\n\s*/g, ' '),
    })
  }
}

/** The `ENV` of the final image. */
export function imageEnvironment(): Record<string, string> {
  const last = dockerfile.getInstructions().findLastIndex((instruction) => instruction instanceof From)
  return Object.fromEntries(
    dockerfile
      .getInstructions()
      .slice(last)
      .filter((instruction) => instruction.getKeyword() === 'ENV')
      .flatMap((instruction) => (instruction as PropertyInstruction).getProperties())
      .map((property) => [property.getName(), property.getUnescapedValue()!]),
  )
}
