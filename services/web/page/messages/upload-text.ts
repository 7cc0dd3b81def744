import { type ChosenFiles, failureOf } from '../app/uploads.ts'
import { showProblem } from '../ui/problems.ts'

interface TextOfBox {
  destinationId: string
  channelId: string
  text: string
}

/**
 * Uploads the text of a text box as a file of its message. Resolves to false when that failed, or when the person removed the file meanwhile.
 * Then the box still has the text, so the file is not needed.
 */
export async function uploadText(files: ChosenFiles, { destinationId, channelId, text }: TextOfBox): Promise<boolean> {
  const [file] = files.add(destinationId, channelId, [new File([text], 'message.txt', { type: 'text/plain' })])
  if (!file) return false
  await file.settled
  const failed = failureOf(file)
  if (failed) {
    files.remove(destinationId, file)
    showProblem(failed.failure)
  }
  return files.of(destinationId).includes(file)
}
