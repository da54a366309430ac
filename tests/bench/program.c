/* The program that is started: it ends at once. */
int main(void)
{
    return 0;
}
