/** The title that stands for the tests of a file that is not run. */
export const notRun = 'is not run for lack of time'
