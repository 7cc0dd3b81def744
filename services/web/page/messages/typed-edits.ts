import type { Message } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'

/** A text that the person has typed to replace the text of a message, and has not saved. */
interface TypedEdit {
  message: Message
  text: string
}

const typedEdits = new WeakMap<Workspace, Map<string, TypedEdit>>()

/** The edits that are not saved, by the id of the message. They are removed together with the workspace. */
export function typedEditsIn(workspace: Workspace): Map<string, TypedEdit> {
  const known = typedEdits.get(workspace) ?? new Map<string, TypedEdit>()
  typedEdits.set(workspace, known)
  return known
}
