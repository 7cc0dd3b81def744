import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'

/** Whether files are dragged. The browser itself moves text that is dragged, for instance within a text box. */
const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false

/** The properties of an element on which files can be dropped. While files are dragged over it, it shows a hint. */
export function useFileDrop(onFiles: (files: FileList | undefined) => void) {
  const isOver = useSignal(false)
  return {
    'data-dropping': isOver.value ? t('Drop the files to attach them') : undefined,
    onDragOver: (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      isOver.value = true
    },
    onDragLeave: ({ currentTarget, relatedTarget }: DragEvent) => {
      isOver.value &&= (currentTarget as Element).contains(relatedTarget as Node | null)
    },
    onDrop: (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      isOver.value = false
      onFiles(event.dataTransfer?.files)
    },
  }
}

/** Refuses files that are dragged to any other element. Otherwise the browser may open a dropped file instead of the page. */
export function refuseOtherFiles(event: DragEvent) {
  if (event.defaultPrevented || !hasFiles(event)) return
  event.preventDefault()
  event.dataTransfer!.dropEffect = 'none'
}
